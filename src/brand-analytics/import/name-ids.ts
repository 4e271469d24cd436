import type pg from 'pg';
import { LABEL_KINDS, type LabelKind } from '../label-kinds.ts';
import type { AskNames, NameId } from './names.ts';
import { ReportError } from './report-error.ts';

/** A store has about forty. */
const MOST_DEPARTMENTS = 1_000;

/**
 * Returns ids of labels from the database, and adds new labels in the transaction of the import. Departments are
 * numbered in the order in which they occur, for this import only.
 */
export function askDatabase(client: pg.ClientBase): AskNames {
  const departments = new Map<string, number>();

  async function labelIds(kind: LabelKind, names: readonly string[]): Promise<NameId[]> {
    if (names.length === 0) return [];
    const { rows } = await client.query<{ id: number; name: string }>(LEARN, [LABEL_KINDS[kind], names]);
    return rows.map(({ id, name }) => [name, id]);
  }

  function departmentNumbers(names: readonly string[]): NameId[] {
    for (const name of names) if (!departments.has(name)) departments.set(name, departments.size + 1);
    if (departments.size > MOST_DEPARTMENTS)
      throw new ReportError(`The file has more than ${MOST_DEPARTMENTS} departments.`);
    return names.map((name) => [name, departments.get(name) ?? 0]);
  }

  return async ({ brand, category, department }) => ({
    brand: await labelIds('brand', brand),
    category: await labelIds('category', category),
    department: departmentNumbers(department),
  });
}

const LEARN = `with wanted as (select name from unnest($2::text[]) as name),
    added as (insert into aba_labels (kind, name)
      select $1, w.name from wanted w
      where not exists (select from aba_labels l where l.kind = $1 and l.name = w.name)
      returning id, name)
  select id, name from added
  union all
  select l.id, l.name from wanted w join aba_labels l on l.kind = $1 and l.name = w.name`;
