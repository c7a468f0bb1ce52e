"""A class: its roster and its gradebook."""
