"""Tests the suites: right answers must keep all points, wrong ones must lose some, mistakes must get their names."""
