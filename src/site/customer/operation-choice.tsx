import { group } from 'd3-array';
import type { VNode } from 'preact';
import type { Operation } from '../../operations/define.ts';
import { Choice } from '../kit/form.tsx';

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
  operations: readonly Operation[];
  preset?: string;
  /** Offers to choose none, under this name. */
  none?: string;
}): VNode {
  const { operations, preset, none } = props;
  const byPrefix = group(operations, ({ name }) => name.split('.')[0] ?? '');
  const groups = [...byPrefix].map(
    ([prefix, members]) =>
      [GROUP_NAMES[prefix] ?? prefix, members.map(({ name }) => [name, name] as const)] as const,
  );
  return (
    <Choice
      name="operation"
      label="Operation"
      options={none === undefined ? [] : [['', none]]}
      groups={groups}
      {...(preset === undefined ? {} : { preset })}
    />
  );
}
