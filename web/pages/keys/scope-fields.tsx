import { KEY_ACCESSES, type KeyAccess } from '../../../src/domain/records/key-access.ts';
import { cidrFault } from '../../../src/text/ip-addresses.ts';
import { keys as texts } from '../../text/keys.ts';
import { Select, TextArea } from '../../ui/controls.tsx';

/** The typed access of a key, and the typed addresses from which it may be used. */
export interface ScopeDraft {
  readonly access: KeyAccess;
  readonly ranges: string;
}

/** The scope that the draft stands for. */
export const scopeOf = ({ access, ranges }: ScopeDraft) => ({
  access,
  allowedCidrs: ranges.split(/[\s,]+/).filter((range) => range !== ''),
});

/** The first range that is none, in words. */
function rangeFault(draft: ScopeDraft): string | undefined {
  const wrong = scopeOf(draft).allowedCidrs.find((range) => cidrFault(range) !== undefined);
  return wrong === undefined ? undefined : `${wrong} ${cidrFault(wrong)}.`;
}

interface ScopeFieldsProps {
  readonly draft: ScopeDraft;
  readonly onDraft: (draft: ScopeDraft) => void;
  readonly accesses?: readonly KeyAccess[];
  readonly disabled?: boolean;
  /** Further faults that keep the form from being sent, said at the field of the access or of the addresses. */
  readonly missing?: { readonly access?: string | undefined; readonly ranges?: string | undefined };
}

/** H23: the access of a key, and its addresses. */
export function ScopeFields({
  draft,
  onDraft,
  accesses = KEY_ACCESSES,
  disabled = false,
  missing = {},
}: ScopeFieldsProps) {
  const { scope } = texts;
  return (
    <>
      <Select
        label={scope.access}
        hint={scope.hints[draft.access]}
        value={draft.access}
        options={accesses.map((access) => [access, scope.accesses[access]] as const)}
        onValue={(access) => onDraft({ ...draft, access })}
        disabled={disabled}
        missing={missing.access}
      />
      <TextArea
        label={scope.ranges}
        hint={scope.rangesHint}
        rows={2}
        maxLength={2000}
        autocomplete="off"
        spellcheck={false}
        value={draft.ranges}
        onValue={(ranges) => onDraft({ ...draft, ranges })}
        disabled={disabled}
        missing={rangeFault(draft) ?? missing.ranges}
      />
    </>
  );
}
