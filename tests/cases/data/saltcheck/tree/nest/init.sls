include:
  - .sub
  - plain
  - bare

n:
  test.nop: []
