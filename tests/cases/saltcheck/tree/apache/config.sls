conf:
  test.nop: []
