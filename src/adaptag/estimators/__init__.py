"""scikit-learn estimators, which call the functions of the other folders."""
