create extension if not exists vector with schema extensions;

alter table public.todos add column embedding vector(3);

create index on public.todos using hnsw (embedding vector_cosine_ops);

create function public.match_todos(query_embedding extensions.vector(3), match_threshold float, match_count int)
returns table (id uuid, title text, similarity float)
language sql stable
as $$
  select todos.id, todos.title, 1 - (todos.embedding <=> query_embedding) as similarity
  from public.todos
  where 1 - (todos.embedding <=> query_embedding) > match_threshold
  order by todos.embedding <=> query_embedding
  limit match_count;
$$;
