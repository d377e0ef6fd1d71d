"""Values that are missing: normal laws estimated from what is there, and what they say about the gaps.

What it promises. Each dataset by itself is taken as rows of a normal law, and the law is the one under which the values that
are there are most likely. Where values are missing completely at random, or for reasons that lie in the values that are
there ("missing at random"), means and covariances are then estimated without bias in large samples, whatever the share of
gaps in a row. The law need not be normal for that, as long as features depend on one another linearly.

When it fails. Where a value is missing *because of what it is* (below a detection limit, say), the values that are there do
not tell, and no method that looks at them alone can: variances come out too small and means too far from the gaps. With few
rows beside features the estimate is as uncertain as any regression on so many features, and gaps are filled with less than
they should be.

How. ``normal`` is EM for a covariance of all features, for more rows than features; ``factors`` is EM for a factor model,
for fewer; ``estimate`` standardises, chooses and leads back to the user's units; ``law`` completes rows.
"""
