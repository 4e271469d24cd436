import ipaddr from 'ipaddr.js';

/** Returns the IPv4 address, or the 64 bits of the network of an IPv6 address: a client with one such address can use all of them. */
export function networkOf(address: string): string {
  const parsed = parse(address);
  return parsed instanceof ipaddr.IPv6 ? firstBits(parsed) : (parsed?.toString() ?? address);
}

/** Returns the network of 24 bits of an IPv4 address, or of 64 bits of an IPv6 address: one customer can own all its addresses. */
export function neighbourhoodOf(address: string): string {
  const parsed = parse(address);
  return parsed instanceof ipaddr.IPv4 ? parsed.octets.slice(0, 3).join('.') : networkOf(address);
}

/** Returns null if the text is not an address. An IPv4 address in IPv6 notation is an IPv4 address. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return ipaddr.isValid(address) ? ipaddr.process(address) : null;
}

function firstBits({ parts }: ipaddr.IPv6): string {
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/** A network that a key may be used from. */
export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Returns the normal form of a network in CIDR notation, or of an address as a network of one address; null for other texts. */
export function normalNetwork(text: string): string | null {
  const network = readNetwork(text.trim());
  if (!network) return null;
  const [address, bits] = network;
  const kind = address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`;
}

/** Reads networks in their normal form. */
export function networksOf(texts: readonly string[]): Network[] {
  return texts.flatMap((text) => {
    const network = readNetwork(text);
    return network ? [network] : [];
  });
}

/** Returns whether an address is in one of some networks. */
export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  const parsed = parse(address);
  return parsed !== null && networks.some((network) => contains(network, parsed));
}

/** Returns whether each network is part of one of `outer`. */
export function areInNetworks(networks: readonly Network[], outer: readonly Network[]): boolean {
  return networks.every(([address, bits]) => outer.some((one) => bits >= one[1] && contains(one, address)));
}

function contains([network, bits]: Network, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return network.kind() === address.kind() && address.match([network, bits] as never);
}

/** An IPv4 address in four parts without leading zeros, or an IPv6 address without a zone, and the bits of the network. */
const NETWORK = /^(?:(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})|[\da-f:.]*:[\da-f:.]*)(?:\/\d{1,3})?$/i;

function readNetwork(text: string): Network | null {
  if (!NETWORK.test(text)) return null;
  const address = parse(text);
  if (address) return [address, address instanceof ipaddr.IPv4 ? 32 : 128];
  if (!ipaddr.isValidCIDR(text)) return null;
  const [network, bits] = ipaddr.parseCIDR(text);
  const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress();
  if (!isMapped) return [network, bits];
  return bits >= 96 ? [network.toIPv4Address(), bits - 96] : null;
}
