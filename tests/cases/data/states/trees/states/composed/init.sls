include:
  - composed.parts.*
  - .parts.more
  - needless
exclude:
  - sls: needless
  - id: composed_excluded
extend:
  composed_file:
    file:
      - mode: '0640'
      - contents: extended
      - require: [test: composed_first]
  composed_told:
    cmd:
      - watch: [file: composed_file]
composed_first:
  test.succeed_without_changes: []
