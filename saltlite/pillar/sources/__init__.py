"""Sources of ``ext_pillar``: ``ext_pillar(ctx, pillar, ...)`` gives a map that joins the pillar."""
