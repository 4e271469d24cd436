import type pg from 'pg';
import type { ReportRow } from './report.ts';

/** Kinds of labels, as the database numbers them. */
export const LABEL_KINDS = { brand: 1, category: 2 } as const;

export type LabelKind = keyof typeof LABEL_KINDS;

/** Ids of brands and categories. New ones are added in the transaction of the import. */
export interface Labels {
  /** Makes the ids of the names in these rows known. */
  learn(rows: readonly ReportRow[]): Promise<void>;
  /** 0 for ''. Only what was just learnt is sure to be known. */
  idOf(kind: LabelKind, name: string): number;
}

/** A week has some hundred thousand brands; when there are more of them, all are asked for again. */
const MOST_REMEMBERED = 200_000;

export function openLabels(client: pg.ClientBase): Labels {
  const known = { brand: new Map<string, number>(), category: new Map<string, number>() };

  async function ask(kind: LabelKind, names: ReadonlySet<string>): Promise<void> {
    if (names.size === 0) return;
    const { rows } = await client.query<{ id: number; name: string }>(LEARN, [LABEL_KINDS[kind], [...names]]);
    // The names as they come from the database: those of the file are parts of its text, and would keep all of it.
    for (const { id, name } of rows) known[kind].set(name, id);
  }

  return {
    async learn(rows) {
      for (const ids of Object.values(known)) if (ids.size > MOST_REMEMBERED) ids.clear();
      const brands = new Set<string>();
      const categories = new Set<string>();
      for (const row of rows) {
        for (const name of row.brands) if (name !== '' && !known.brand.has(name)) brands.add(name);
        for (const name of row.categories) if (name !== '' && !known.category.has(name)) categories.add(name);
      }
      await ask('brand', brands);
      await ask('category', categories);
    },
    idOf: (kind, name) => (name === '' ? 0 : (known[kind].get(name) ?? 0)),
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
