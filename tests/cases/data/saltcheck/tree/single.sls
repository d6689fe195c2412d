single:
  test.nop: []
