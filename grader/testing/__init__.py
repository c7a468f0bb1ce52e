"""What an author of suites imports: checks, draws, the student's proxies, misconceptions and probes."""
