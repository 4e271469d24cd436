import type { ComponentChildren, VNode } from 'preact';

/** Columns whose name begins with # stand to the right: they are numbers. */
export function DataTable({
  label,
  columns,
  rows,
  empty,
}: {
  /** Of the region that the keyboard scrolls. */
  label: string;
  columns: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
  /** What is said where there are no rows. */
  empty: string;
}): VNode {
  if (rows.length === 0) return <p class="empty card">{empty}</p>;
  const classOf = (i: number) => (columns[i]?.startsWith('#') ? 'number' : undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section class="table" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((name, i) => (
              <th key={name} scope="col" class={classOf(i)}>
                {name.replace('#', '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, i) => (
                <td key={columns[i]} class={classOf(i)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
