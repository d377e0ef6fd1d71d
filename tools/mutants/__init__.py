"""Mutation testing: are small faults in the code noticed by the tests? ``make mutants``; figures in docs/how-we-test.md."""
