base:
  '*':
    - service
    - people
    - sites
