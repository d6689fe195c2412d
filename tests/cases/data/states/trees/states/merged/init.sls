{%- import_yaml 'merged/values.yaml' as values %}
{%- import_yaml tpldir ~ '/texts.yaml' as texts %}
{%- load_yaml as extra %}
stack: {soft: 8, hard: 16}
{%- endload %}
{%- set limits = salt['pillar.get']('limits', values, merge=True) %}
{%- do limits.update(extra) %}
{%- set chosen = salt['grains.filter_by']({
    'Debian': {'pkg': 'deb', 'opts': {'a': 1}},
    'default': {'pkg': 'none', 'opts': {'b': 2}},
    'base': {'opts': {'c': [3, 4]}, 'kept': true},
  }, grain='os_family', base='base', merge={'opts': {'d': 'vier'}}) %}

/srv/merged/limits.json:
  file.serialize:
    - dataset: {{ limits | json }}
    - formatter: json
    - makedirs: True

/srv/merged/limits.yaml:
  file.serialize:
    - dataset: {{ chosen | json }}
    - serializer: yaml
    - serializer_opts: [indent: 2]
    - mode: 640
    - require: [file: /srv/merged/limits.json]

/srv/merged/from-pillar.json:
  file.serialize:
    - dataset_pillar: 'beacon:config'
    - formatter: json
    - merge_if_exists: True
    - show_changes: False
    - require: [file: /srv/merged/limits.json]

/srv/merged/greeting:
  file.managed:
    - contents: {{ texts.greeting | yaml_encode }}
    - require: [file: /srv/merged/limits.json]

/srv/merged/lines:
  file.managed:
    - contents:
      {%- for name, limit in limits | dictsort %}
      {%- for kind, value in limit | dictsort %}
      - '* {{ kind }} {{ name }} {{ value }}'
      {%- endfor %}
      {%- endfor %}
    - require: [file: /srv/merged/limits.json]
