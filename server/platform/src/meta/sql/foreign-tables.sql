{relations_begin}
      pg_catalog.obj_description(c.oid, 'pg_class') as comment
{relations_end:'f'}
