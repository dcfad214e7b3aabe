"""scikit-learn estimators: a face for what the other folders do."""
