import { group } from 'd3-array';
import type { VNode } from 'preact';
import type { Operation } from '../../operations/define.ts';

/** What the first half of an operation's name means to a reader. */
const GROUP_NAMES: Record<string, string> = {
  market: 'Market',
  trends: 'Search trends',
  aba: 'Brand analytics',
  account: 'Account',
  retail: 'Retail',
};

/** A choice of one operation, by groups. */
export function OperationChoice(props: {
  name?: string;
  operations: readonly Operation[];
  value?: string | undefined;
  /** Offers to choose none, under this name. */
  none?: string;
  fault?: string | undefined;
}): VNode {
  const { name = 'operation', operations, value, none, fault } = props;
  const groups = group(operations, ({ name: full }) => full.split('.')[0] ?? '');
  const id = `field-${name}`;
  return (
    <div class="field">
      <label for={id}>Operation</label>
      <select id={id} name={name} aria-describedby={fault ? `${id}-fault` : undefined}>
        {none !== undefined && <option value="">{none}</option>}
        {[...groups].map(([prefix, members]) => (
          <optgroup key={prefix} label={GROUP_NAMES[prefix] ?? prefix}>
            {members.map((operation) => (
              <option key={operation.name} value={operation.name} selected={operation.name === value}>
                {operation.name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}
