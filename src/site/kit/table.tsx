import type { ComponentChildren, VNode } from 'preact';

/** A table with its name. On a narrow screen it scrolls sideways, so the keyboard gets to it too. */
export function Table({
  name,
  columns,
  children,
}: {
  /** Said by screen readers. */
  name: string;
  /** Headings; those of numbers begin with #. */
  columns: readonly string[];
  /** Rows. */
  children: ComponentChildren;
}): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section class="table" aria-label={name} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col" class={column.startsWith('#') ? 'number' : undefined}>
                {column.replace(/^#/, '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
