import { LRUCache } from 'lru-cache';
import type pg from 'pg';

/** Kinds of labels, as the database numbers them. */
export const LABEL_KINDS = { brand: 1, category: 2 } as const;

export type LabelKind = keyof typeof LABEL_KINDS;

/** Ids of brands and categories. New ones are added in the transaction of the import. */
export interface Labels {
  /** Makes the ids of these known. */
  learn(names: ReadonlyMap<LabelKind, ReadonlySet<string>>): Promise<void>;
  /** 0 for ''. Only what was just learnt is sure to be known. */
  idOf(kind: LabelKind, name: string): number;
}

/** A week has some hundred thousand brands; more than these are asked for again. */
const MOST_REMEMBERED = 200_000;

export function openLabels(client: pg.ClientBase): Labels {
  const remembered = new LRUCache<string, number>({ max: MOST_REMEMBERED });
  let recent = new Map<string, number>();
  const keyOf = (kind: LabelKind, name: string) => `${LABEL_KINDS[kind]}${name}`;
  return {
    async learn(names) {
      recent = new Map();
      for (const [kind, wanted] of names) {
        const unknown: string[] = [];
        for (const name of wanted) {
          const key = keyOf(kind, name);
          const id = remembered.get(key);
          if (id === undefined) unknown.push(name);
          else recent.set(key, id);
        }
        if (unknown.length === 0) continue;
        const { rows } = await client.query<{ id: number; name: string }>(LEARN, [
          LABEL_KINDS[kind],
          unknown,
        ]);
        for (const { id, name } of rows) {
          remembered.set(keyOf(kind, name), id);
          recent.set(keyOf(kind, name), id);
        }
      }
    },
    idOf: (kind, name) => (name === '' ? 0 : (recent.get(keyOf(kind, name)) ?? 0)),
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
