sites:
  root: /srv/www
  vhosts:
    shop:
      aliases: [shop.example.org, www.shop.example.org]
      port: 8080
      enabled: true
    blog:
      enabled: true
      directives:
        client_max_body_size: 8m
        autoindex: "on"
    old: {enabled: false}
