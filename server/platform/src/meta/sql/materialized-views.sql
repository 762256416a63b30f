{relations_begin}
      c.relispopulated as is_populated,
      pg_catalog.obj_description(c.oid, 'pg_class') as comment
{relations_end:'m'}
