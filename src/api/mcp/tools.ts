import { CONSTANT_TOOLSETS, type Listing } from '../../operations/toolsets.ts';
import { endpointTools } from './endpoint-tools.ts';
import { operationTools } from './operation-tools.ts';
import type { Tool } from './tool.ts';

/** Every tool by name, in the order of the list. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...operationTools(), ...endpointTools()].map((tool) => [tool.listed.name, tool]),
);

/** Returns whether a tool belongs to the toolsets of a listing. */
export function isIn({ toolset }: Tool, listing: Listing): boolean {
  const hasToolset = listing.some((name) => name !== 'default');
  return listing.includes(toolset) || (hasToolset && CONSTANT_TOOLSETS.includes(toolset));
}
