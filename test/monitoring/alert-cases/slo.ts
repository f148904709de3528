import { API, type AlertCases } from './case.ts';

const count = (labels: string): string => `muster_http_request_duration_seconds_count{instance="a",${labels}}`;
const bucket = (labels: string): string =>
  `muster_http_request_duration_seconds_bucket{instance="a",le="0.25",${labels}}`;
const OK = 'listener="api",route="/v1/apps",status="200",code=""';
const BAD = 'listener="api",route="/v1/apps",status="502",code="upstream_unavailable"';
const HELD = 'listener="device",route="/device/v1/config (held)",status="304",code=""';

const rejected = (why: string): string => `muster_http_rejected_total{instance="a",listener="api",why="${why}"}`;

const requests = (good: string, bad: string): Record<string, string> => ({ [count(OK)]: good, [count(BAD)]: bad });
const answers = (all: string, fast: string): Record<string, string> => ({ [count(OK)]: all, [bucket(OK)]: fast });

export const SLO_CASES: AlertCases = {
  MusterAvailabilityBurningFast: {
    fires: { why: '5 % fail for an hour', series: requests('0+95x200', '0+5x200'), at: '70m' },
    alsoFires: [
      {
        why: 'of 493 one each fails, is above the bound of requests, and finds every connection busy',
        series: {
          ...requests('0+490x200', '0+1x200'),
          [rejected('request_bound')]: '0+1x200',
          [rejected('connection_bound')]: '0+1x200',
        },
        at: '70m',
      },
    ],
    labels: API,
    quiet: [
      { why: '0.5 % fail', series: requests('0+995x200', '0+5x200'), at: '70m' },
      { why: 'it was installed 25 minutes ago', series: requests('0+95x200', '0+5x200'), at: '25m' },
      { why: 'seven failures are too few to say', series: requests('0+1x200', '0+0x60 1+1x6 7+0x120'), at: '70m' },
      { why: 'it failed, and is well again', series: requests('0+95x200', '0+5x60 300+0x140'), at: '95m' },
      {
        why: 'limited and refused requests are answers',
        series: { [count(OK)]: '0+1x200', [count('listener="api",route="/v1/apps",status="429"')]: '0+90x200' },
        at: '70m',
      },
      {
        why: 'an account at its quota goes on trying',
        series: {
          [count(OK)]: '0+1x200',
          [count('listener="api",route="/v1/apps",status="502",code="quota"')]: '0+90x200',
        },
        at: '70m',
      },
      {
        why: 'one address is above its bound, and idle connections give way to new ones',
        series: {
          [count(OK)]: '0+1x200',
          [rejected('address_bound')]: '0+6000x200',
          [rejected('connection_evicted')]: '0+6000x200',
        },
        at: '70m',
      },
    ],
  },
  MusterAvailabilityBurningSlowly: {
    fires: { why: '0.5 % fail for a day', series: requests('0+9950x160', '0+50x160'), at: '1500m', step: '10m' },
    labels: API,
    quiet: [
      { why: '0.05 % fail', series: requests('0+19990x160', '0+10x160'), at: '1500m', step: '10m' },
      { why: 'one failure in a quiet night', series: requests('0+0x160', '0+0x138 1+0x20'), at: '1440m', step: '10m' },
    ],
  },
  MusterLatencyBurningFast: {
    fires: { why: 'every fourth takes longer than 250 ms', series: answers('0+100x200', '0+75x200'), at: '70m' },
    labels: API,
    quiet: [
      { why: 'one in a hundred does', series: answers('0+100x200', '0+99x200'), at: '70m' },
      { why: 'it was installed 25 minutes ago', series: answers('0+100x200', '0+75x200'), at: '25m' },
      { why: 'nine slow ones are too few to say', series: answers('0+0x60 0+1x140', '0+0x200'), at: '69m' },
      {
        why: 'a held poll is meant to take long',
        series: { [count(HELD)]: '0+100x200', [bucket(HELD)]: '0+0x200' },
        at: '70m',
      },
    ],
  },
  MusterLatencyBurningSlowly: {
    fires: { why: '5 % take longer, for a day', series: answers('0+1000x160', '0+950x160'), at: '1500m', step: '10m' },
    labels: API,
    quiet: [{ why: 'one in two hundred does', series: answers('0+2000x160', '0+1990x160'), at: '1500m', step: '10m' }],
  },
};
