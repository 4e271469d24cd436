import { withoutControls } from './plain-text.ts';
import type { ReportRow } from './report.ts';

/** Kinds of names that recur in a report. */
export type NameKind = 'brand' | 'category' | 'department';

/** Returns the ids of names, including new ones. The returned names are strings of their own. */
export type AskNames = (names: Record<NameKind, string[]>) => Promise<Record<NameKind, NameId[]>>;

export type NameId = readonly [name: string, id: number];

/** The ids of names. */
export interface Names {
  /** Loads the ids of the names in these rows. */
  learn(rows: readonly ReportRow[]): Promise<void>;
  /**
   * Returns the id of a name; 0 for ''. Only names of the last rows that were passed to `learn` are certain to be
   * known.
   */
  idOf(kind: NameKind, name: string): number;
}

/** A week has some hundred thousand brands. If there are more than this, they are loaded again. */
const MOST_REMEMBERED = 200_000;

export function openNames(ask: AskNames): Names {
  const known: Record<NameKind, Map<string, number>> = {
    brand: new Map(),
    category: new Map(),
    department: new Map(),
  };
  return {
    async learn(rows) {
      for (const ids of Object.values(known)) if (ids.size > MOST_REMEMBERED) ids.clear();
      const unknown = {
        brand: new Set<string>(),
        category: new Set<string>(),
        department: new Set<string>(),
      };
      const look = (kind: NameKind, name: string) => {
        if (!known[kind].has(name)) unknown[kind].add(withoutControls(name));
      };
      for (const { brands, categories, department } of rows) {
        for (const name of brands) look('brand', name);
        for (const name of categories) look('category', name);
        look('department', department);
      }
      for (const names of Object.values(unknown)) names.delete('');
      if (Object.values(unknown).every(({ size }) => size === 0)) return;
      const found = await ask({
        brand: [...unknown.brand],
        category: [...unknown.category],
        department: [...unknown.department],
      });
      // Keeps the returned strings: those of the file are slices of its text, and would keep all of it in memory.
      for (const kind of Object.keys(known) as NameKind[])
        for (const [name, id] of found[kind]) known[kind].set(name, id);
    },
    idOf: (kind, name) =>
      name === '' ? 0 : (known[kind].get(name) ?? known[kind].get(withoutControls(name)) ?? 0),
  };
}
