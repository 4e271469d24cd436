import type { VNode } from 'preact';
import { TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import { SmallLink } from './elements.tsx';

/** The tables of an answer or of results, as files of each form. @param address returns the address of a file. */
export function TableLinks(props: {
  tables: readonly string[];
  address(table: string, format: string): string;
}): VNode {
  const { tables, address } = props;
  return (
    <details>
      <summary>Download as a table</summary>
      {tables.map((table) => (
        <p key={table} class="row">
          <span>{table}</span>
          {TABLE_FORMAT_NAMES.map((format) => (
            <SmallLink key={format} to={address(table, format)} download>
              {format.toUpperCase()}
            </SmallLink>
          ))}
        </p>
      ))}
      <p class="hint">
        The meaning of each column is in the <a href="/docs/fields">dictionary</a>, on the second sheet of
        XLSX, and in the metadata of Parquet.
      </p>
    </details>
  );
}
