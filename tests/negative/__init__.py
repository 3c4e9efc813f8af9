"""Wrong stack files that people write: kinds of mistake, and for each the rule that must refuse it and the place."""
