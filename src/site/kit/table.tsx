import type { ComponentChildren, VNode } from 'preact';

/** A column: its heading, what it says of a row, and how its cells are set; `row` is the heading of the row. */
export type Column<Row> = readonly [
  heading: string,
  cell: (row: Row) => ComponentChildren,
  set?: 'number' | 'number muted' | 'long' | 'row',
];

/** A table with its name. On a narrow screen it scrolls sideways, so the keyboard gets to it too. */
export function Table<Row>(props: {
  /** Said by screen readers. */
  name: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Shown where there are no rows. */
  empty?: ComponentChildren;
}): VNode {
  const { name, columns, rows, empty = 'None.' } = props;
  if (rows.length === 0)
    return typeof empty === 'string' ? (
      <p class="empty card">{empty}</p>
    ) : (
      <div class="empty card">{empty}</div>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section class="table" aria-label={name} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(([heading, , set]) => (
              <th key={heading} scope="col" class={set?.startsWith('number') ? 'number' : undefined}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {columns.map(([heading, cell, set]) =>
                set === 'row' ? (
                  <th key={heading} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={heading} class={set}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
