import { useLayoutEffect, useState } from 'preact/hooks';
import { currentAddress, onAddress, type Address } from './address.ts';

/** The address, and each change of it. */
export function useAddress(): Address {
  const [address, setAddress] = useState(currentAddress);
  useLayoutEffect(() => {
    const changed = (): void => setAddress(currentAddress());
    changed();
    return onAddress(changed);
  }, []);
  return address;
}
