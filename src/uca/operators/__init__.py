"""Data as covariance operators."""
