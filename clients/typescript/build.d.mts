/** Builds the package into a folder. */
export function build(dist?: string): Promise<void>;
