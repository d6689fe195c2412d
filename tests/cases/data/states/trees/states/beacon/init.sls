include:
  - .config
  - .service
