import { isInScope, type KeyScopes } from '../../accounts/key-settings.ts';
import { CONSTANT_TOOLSETS, type Toolset } from '../../operations/toolsets.ts';
import { endpointTools } from './endpoint-tools.ts';
import { operationTools } from './operation-tools.ts';
import type { ListedTool, Tool } from './tool.ts';

/** Every tool by name, in the order of the list. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...operationTools(), ...endpointTools()].map((tool) => [tool.listed.name, tool]),
);

/** Returns whether a tool belongs to some toolsets. */
export function isIn({ toolset }: Tool, toolsets: readonly Toolset[]): boolean {
  return toolsets.includes(toolset) || CONSTANT_TOOLSETS.includes(toolset);
}

/** Returns the tools of some toolsets for `tools/list`, without those that the key must not use. */
export function listedTools(toolsets: readonly Toolset[], scopes: KeyScopes): ListedTool[] {
  return [...TOOLS.values()]
    .filter((tool) => isIn(tool, toolsets) && isInScope(scopes, tool.scopes))
    .map(({ listed }) => listed);
}
