"""The Judgements page: sets of judged queries, their pools, and judging pair by pair."""
