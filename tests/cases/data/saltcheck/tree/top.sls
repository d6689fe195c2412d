base:
  '*':
    - apache
    - bare
