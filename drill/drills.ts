import { KEYS } from '../src/domain/records/keys.ts';
import { fill, makeRoom, putKey, removeKey } from '../test/chaos/cluster/etcd-admin.ts';
import { ETCD_PREFIX, type Stage } from './stage.ts';

/** A fault that is brought in, so that somebody sees its alert and mends it before it is one. */
export interface Drill {
  /** The steps, in words for the person who runs it. */
  readonly fault: string;
  readonly alert: string;
  readonly mend: string;
  readonly inject: (stage: Stage) => Promise<void>;
  /** Keeps the fault up, once a second until the alert fires. */
  readonly goOn?: (stage: Stage) => Promise<void>;
  /** Ends the fault; what only went on has ended by itself. */
  readonly end?: (stage: Stage) => Promise<void>;
}

const nothing = async (): Promise<void> => undefined;
const BACKUP = `${ETCD_PREFIX}${KEYS.pin('drill')}`;
const OTHER_TOKEN = 'the-operator-token-of-another-release-0123';

export const DRILLS = {
  'store-down': {
    fault: 'etcd is killed.',
    alert: 'MusterStoreDown',
    mend: 'etcd is started again.',
    inject: ({ etcd }) => etcd.member.kill(),
    end: ({ etcd }) => etcd.member.start(),
  },
  'store-full': {
    fault: 'Somebody else fills etcd up to its quota, and it raises NOSPACE.',
    alert: 'MusterStoreFull',
    mend: 'What filled it is removed; then etcd is compacted and defragmented, and the alarm disarmed.',
    inject: ({ etcd }) => fill(etcd.member),
    end: ({ etcd }) => makeRoom(etcd),
  },
  'clock-off': {
    fault: 'A replica starts on a machine whose clock is a minute ahead.',
    alert: 'MusterClockWrong',
    mend: 'The clock is set, and the replica started again.',
    inject: (stage) => stage.restart({ entry: 'with another clock' }),
    end: (stage) => stage.restart(),
  },
  'replica-dead': {
    fault: 'One of two replicas is killed, and nobody starts it again.',
    alert: 'MusterReplicasMissing',
    mend: 'The replica is started.',
    inject: (stage) => stage.kill(),
    end: (stage) => stage.restart(),
  },
  'token-differs': {
    fault: 'A replica starts with another operator token.',
    alert: 'MusterOperatorTokensDiffer',
    mend: 'The replica gets the token that the others have.',
    inject: (stage) => stage.restart({ operatorToken: OTHER_TOKEN }),
    end: (stage) => stage.restart(),
  },
  'limited-account': {
    fault: 'Automation of an account asks without pause.',
    alert: 'MusterAccountsLimited',
    mend: 'It asks no more.',
    inject: nothing,
    async goOn(stage) {
      for (const { api } of stage.urls) await stage.ask(`${api}/v1/apps`, stage.apiKey, 60);
    },
  },
  'stuck-rollout': {
    fault: 'The owner changes the configuration; daemons take it and do not say that they applied it.',
    alert: 'MusterConfigDeliverySlow',
    mend: 'The daemons acknowledge what they have.',
    async inject({ owner, daemons }) {
      await owner.storeOtelConfig({ enabled: true, endpoint: 'https://new.example.com', authHeader: 'Bearer drill' });
      for (const daemon of daemons) await daemon.pollConfig();
    },
    async goOn({ daemons }) {
      for (const daemon of daemons) await daemon.pollConfig();
    },
    async end({ daemons }) {
      for (const daemon of daemons) {
        const polled = await daemon.pollConfig();
        if (polled.changed) await daemon.acknowledgeConfig({ revision: polled.config.revision, status: 'applied' });
      }
    },
  },
  'purge-late': {
    fault: 'A header is purged while a backup that hangs, of which its record in etcd is enough, holds the history.',
    alert: 'MusterPurgeLate',
    mend: 'The backup ends.',
    async inject({ etcd, owner }) {
      await putKey(etcd.member, BACKUP, '{}');
      await owner.purgeOtelConfig();
    },
    end: ({ etcd }) => removeKey(etcd.member, BACKUP),
  },
} as const satisfies Readonly<Record<string, Drill>>;

export type DrillName = keyof typeof DRILLS;
export const DRILL_NAMES = Object.keys(DRILLS) as readonly DrillName[];
