import { QUEUED } from '../../src/operations/index.ts';
import type { Column } from '../../src/operations/tables/columns.ts';
import { table } from './operations.ts';

/** Returns a section for each table of each operation, with its columns. Tables that are the same are one section. */
export function columnSections(): string {
  const sections = new Map<string, string[]>();
  for (const { name, tables } of QUEUED) {
    for (const [one, { columns }] of Object.entries(tables ?? {})) {
      const text = columnTable(columns({}));
      sections.set(text, [...(sections.get(text) ?? []), `\`${one}\` of \`${name}\``]);
    }
  }
  return [...sections].map(([text, names]) => `### ${names.join(', ')}\n\n${text}`).join('\n\n');
}

function columnTable(columns: readonly Column[]): string {
  return table(
    ['Column', 'Type', 'Meaning'],
    columns.map(({ name, type, meaning }) => [`\`${name}\``, type, meaning]),
  );
}
