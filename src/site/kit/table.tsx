import type { ComponentChildren, VNode } from 'preact';

/** A column: heading, content of a cell, and style of the cells; `row` marks the heading of a row. */
export type Column<Row> = readonly [
  heading: string,
  cell: (row: Row) => ComponentChildren,
  set?: 'number' | 'number muted' | 'long' | 'row',
];

/** How a table is sorted. */
interface Sorting {
  /** The heading of the column; undefined: in another order. */
  by: string | undefined;
  isDescending: boolean;
  /** The address of the table sorted by a column, or in the other direction; null for a column without an order. */
  addressBy(heading: string): string | null;
}

/** The most columns that fit a narrow screen as a table. */
const MOST_NARROW_COLUMNS = 3;

/** A table. If its window is too narrow, it scrolls sideways, so it can have the keyboard focus. */
export function Table<Row>(props: {
  /** Name for screen readers. */
  name: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Shown if there are no rows. */
  empty?: ComponentChildren;
  sort?: Sorting;
  /** On a narrow screen each row becomes a card of headings and values, instead of scrolling. Default: with more than three columns. */
  stacks?: boolean;
}): VNode {
  const { name, columns, rows, empty = 'None.', sort } = props;
  const { stacks = columns.length > MOST_NARROW_COLUMNS } = props;
  // Elements that are not displayed as a table need the roles.
  const role = (one: 'table' | 'rowgroup' | 'row' | 'columnheader' | 'rowheader' | 'cell') =>
    stacks ? one : undefined;
  if (rows.length === 0)
    return typeof empty === 'string' ? (
      <p class="empty card">{empty}</p>
    ) : (
      <div class="empty card">{empty}</div>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: an element that scrolls must be reachable with the keyboard.
    <section class={stacks ? 'table stacks' : 'table'} aria-label={name} tabIndex={0}>
      <table role={role('table')}>
        <thead role={role('rowgroup')}>
          <tr role={role('row')}>
            {columns.map(([heading, , set]) => (
              <th
                key={heading}
                scope="col"
                role={role('columnheader')}
                class={set?.startsWith('number') ? 'number' : undefined}
                aria-sort={
                  sort?.by === heading ? (sort.isDescending ? 'descending' : 'ascending') : undefined
                }
              >
                <Heading heading={heading} sort={sort} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody role={role('rowgroup')}>
          {rows.map((row, i) => (
            <tr key={i} role={role('row')}>
              {columns.map(([heading, cell, set]) =>
                set === 'row' ? (
                  <th
                    key={heading}
                    scope="row"
                    role={role('rowheader')}
                    data-label={stacks ? heading : undefined}
                  >
                    {cell(row)}
                  </th>
                ) : (
                  <td key={heading} class={set} role={role('cell')} data-label={stacks ? heading : undefined}>
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

function Heading({ heading, sort }: { heading: string; sort: Sorting | undefined }): VNode {
  const address = sort?.addressBy(heading);
  if (!address) return <>{heading}</>;
  return (
    <a href={address}>
      {heading}
      {sort?.by === heading && <span aria-hidden="true">{sort.isDescending ? ' ↓' : ' ↑'}</span>}
    </a>
  );
}

/** Makes a table with fixed columns. @param empty is shown if there are no rows. */
export function tableOf<Row>(name: string, empty: string, columns: readonly Column<Row>[]) {
  return ({ rows }: { rows: readonly Row[] }): VNode => (
    <Table name={name} empty={empty} columns={columns} rows={rows} />
  );
}
