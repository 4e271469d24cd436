import { CONSTANT_TOOLSETS, type Toolset } from '../../operations/toolsets.ts';
import { endpointTools } from './endpoint-tools.ts';
import { operationTools } from './operation-tools.ts';
import type { ListedTool, Tool } from './tool.ts';

/** Every tool there is, by name, in the order in which they are listed. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...operationTools(), ...endpointTools()].map((tool) => [tool.listed.name, tool]),
);

/** Whether a tool is among those of some toolsets. */
export function isIn({ toolset }: Tool, toolsets: readonly Toolset[]): boolean {
  return toolsets.includes(toolset) || CONSTANT_TOOLSETS.includes(toolset);
}

/** What `tools/list` shows of some toolsets. */
export function listedTools(toolsets: readonly Toolset[]): ListedTool[] {
  return [...TOOLS.values()].filter((tool) => isIn(tool, toolsets)).map(({ listed }) => listed);
}
