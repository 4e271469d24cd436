import { QUEUED } from '../../src/operations/index.ts';
import { FIELD_TYPES, type Field } from '../../src/operations/products/dictionary/field.ts';
import { PRODUCT_FIELDS, seriesRows } from '../../src/operations/products/dictionary/index.ts';
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

/** Returns the types of product fields, the series of `csv`, and a section for each group of product fields. */
export function productFieldSections(): string {
  const types = table(
    ['Type', 'Means'],
    Object.entries(FIELD_TYPES).map(([name, meaning]) => [name, meaning]),
  );
  const series = table(
    ['Index', 'Name with `decode=1`', 'Value', 'Point', 'Meaning', 'Only with'],
    seriesRows().map(({ name, unit, point, meaning, needs }, index) => [
      String(index),
      `\`${name}\``,
      unit,
      point,
      meaning,
      needs,
    ]),
  );
  const groups = PRODUCT_FIELDS.map(({ title, fields }) => `### ${title}\n\n${fieldTable(fields)}`);
  return [types, ...groups, `### Series, by their index in \`csv\` and \`stats\`\n\n${series}`].join('\n\n');
}

function fieldTable(fields: readonly Field[]): string {
  return table(
    ['Field', 'Type', 'Meaning', 'Without data', 'With `decode=1`'],
    fields.map(([name, type, meaning, { none = '', decode = '' } = {}]) => [
      `\`${name}\``,
      type,
      meaning,
      none,
      decode,
    ]),
  );
}
