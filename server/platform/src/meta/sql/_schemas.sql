case
  when $6::text is not null then true
  when pg_catalog.cardinality($1::text[]) > 0 then @ = any ($1)
  else ($3::boolean is true or @ not in ('pg_catalog', 'information_schema', 'pg_toast'))
    and ($2::text[] is null or @ <> all ($2))
end
