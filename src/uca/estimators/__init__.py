"""The scikit-learn face; ``registry.py`` lists what can be fitted, saved and compared."""
