"""The subcommands of `trecpy`, one module each: DESCRIPTION, EXAMPLES, arguments(parser), run(options, streams)."""
