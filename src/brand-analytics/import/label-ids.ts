import type pg from 'pg';
import { type AskLabels, LABEL_KINDS, type LabelId, type LabelKind, MOST_REMEMBERED } from './labels.ts';

/** Ids of labels from the database. New ones are added in the transaction of the import. */
export function askDatabase(client: pg.ClientBase): AskLabels {
  /** Several may ask for the same. */
  const known = { brand: new Map<string, number>(), category: new Map<string, number>() };

  async function idsOf(kind: LabelKind, names: readonly string[]): Promise<LabelId[]> {
    const found: LabelId[] = [];
    const unknown: string[] = [];
    for (const name of names) {
      const id = known[kind].get(name);
      if (id === undefined) unknown.push(name);
      else found.push([name, id]);
    }
    if (unknown.length === 0) return found;
    const { rows } = await client.query<{ id: number; name: string }>(LEARN, [LABEL_KINDS[kind], unknown]);
    if (known[kind].size > MOST_REMEMBERED) known[kind].clear();
    for (const { id, name } of rows) {
      known[kind].set(name, id);
      found.push([name, id]);
    }
    return found;
  }

  let before: Promise<unknown> = Promise.resolve();
  return ({ brand, category }) => {
    // One after the other: who asks second finds what the first has added.
    const found = before.then(async () => ({
      brand: await idsOf('brand', brand),
      category: await idsOf('category', category),
    }));
    before = found.catch(() => {});
    return found;
  };
}

const LEARN = `with wanted as (select name from unnest($2::text[]) as name),
    added as (insert into aba_labels (kind, name)
      select $1, w.name from wanted w
      where not exists (select from aba_labels l where l.kind = $1 and l.name = w.name)
      returning id, name)
  select id, name from added
  union all
  select l.id, l.name from wanted w join aba_labels l on l.kind = $1 and l.name = w.name`;
