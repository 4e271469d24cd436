import { group } from 'd3-array';
import type { VNode } from 'preact';
import type { Operation } from '../../operations/define.ts';
import { Choice } from '../kit/form.tsx';

/** Headings of the groups, by the first part of an operation's name. */
const GROUP_NAMES: Record<string, string> = {
  market: 'Market',
  trends: 'Search trends',
  aba: 'Brand analytics',
  account: 'Account',
  retail: 'Retail',
};

/** A select box of operations, by group. */
export function OperationChoice(props: {
  operations: readonly Operation[];
  preset?: string;
  /** Text of the option that chooses no operation; absent: there is no such option. */
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
