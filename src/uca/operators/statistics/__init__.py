"""Means, deviations and scatter; what each dataset is standardised by; what rounding may cost."""
