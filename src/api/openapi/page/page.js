/* The reference page in the browser: which document it shows, and what Swagger UI shows of it. Nothing is stored. */

/** Where requests of each API are answered, in words. The first API is shown where none is asked for. */
const APIS = {
  v1: 'Owners and their automation use the API listener (port 8080 by default). It is not the listener of this page, so requests cannot be tried from here: use the samples.',
  device:
    'Daemons use the device listener (port 8081 by default). It is not the listener of this page, so requests cannot be tried from here: use the samples.',
  operator:
    'The platform team uses this listener. "Try it out" sends real requests with the operator token that you enter under "Authorize". The page keeps the token in memory, until it is closed or another API is chosen.',
};

const asked = new URLSearchParams(location.search).get('api') ?? '';
/** The page of the panel offers the owners' API alone. */
const choice = Array.from(document.querySelectorAll('[data-api]'), (link) => link.dataset.api);
const api = choice.includes(asked) ? asked : 'v1';
const isHere = api === 'operator';

const byId = (id) => document.getElementById(id);
byId('where').textContent = APIS[api];
byId('document').href = `openapi/${api}.json`;
document.querySelector(`[data-api="${api}"]`)?.setAttribute('aria-current', 'page');

/** Swagger UI has its dark colours under a class. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followScheme);
followScheme();

/** Puts a text on the clipboard. Without TLS browsers give a page no clipboard, but what is selected can be copied. */
async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand('copy');
  }
}

const nothing = () => () => null;

/** The language of samples that was chosen last. */
let preferred = 'curl';

/** The `x-codeSamples` of an operation, one at a time. */
function samplesOf({ React }) {
  const { createElement: h, useRef, useState } = React;
  return function Samples({ samples }) {
    const [label, choose] = useState(preferred);
    const [told, tell] = useState('');
    const code = useRef(null);
    const shown = samples.find((sample) => sample.label === label) ?? samples[0];
    const choice = (sample) => {
      const onClick = () => {
        preferred = sample.label;
        choose(sample.label);
        tell('');
      };
      return h(
        'button',
        { key: sample.label, type: 'button', 'aria-pressed': sample === shown, onClick },
        sample.label,
      );
    };
    const onCopy = async () =>
      tell((await copy(shown.source, code.current)) ? 'Copied' : 'Not copied: the sample is selected');
    return h(
      'section',
      { className: 'code-samples' },
      h('div', { className: 'opblock-section-header' }, h('h4', { className: 'opblock-title' }, 'Samples')),
      h(
        'div',
        { className: 'code-samples-bar' },
        h('div', { role: 'group', 'aria-label': 'Language of the sample' }, samples.map(choice)),
        h('span', { role: 'status' }, told),
        h('button', { type: 'button', className: 'code-samples-copy', onClick: onCopy }, 'Copy'),
      ),
      h('pre', { ref: code, tabIndex: 0, 'aria-label': `Sample: ${shown.label}` }, shown.source),
    );
  };
}

const samples = {
  wrapComponents: {
    responses(Responses, system) {
      const { createElement: h, Fragment } = system.React;
      const Samples = samplesOf(system);
      return (props) => {
        const operation = system.specSelectors.specJson().getIn(['paths', props.path, props.method]);
        const samples = operation?.get('x-codeSamples')?.toJS() ?? [];
        return h(Fragment, null, samples.length > 0 && h(Samples, { samples }), h(Responses, props));
      };
    },
  },
};

/** What the document says of itself, below the page's own heading. */
const introduction = {
  wrapComponents: {
    InfoContainer: (_Info, { React, specSelectors, getComponent }) =>
      function Introduction() {
        const { createElement: h } = React;
        const Markdown = getComponent('Markdown', true);
        const about = specSelectors.info();
        const title = h('h2', null, about.get('title'), ' ', h('small', null, about.get('version')));
        return h('div', { className: 'introduction' }, title, h(Markdown, { source: about.get('description') }));
      },
    // The address is the listener's own, or an example.
    ServersContainer: nothing,
  },
};

/** A token shows neither in its field nor in the command that Swagger UI makes of a request. */
const discretion = {
  wrapComponents: {
    Input: (Input, { React }) =>
      function TokenInput(props) {
        const secret = props.id === 'auth-bearer-value' ? { type: 'password', autoComplete: 'off' } : {};
        return React.createElement(Input, { ...props, ...secret });
      },
    curl: nothing,
    // A token of another API has no use here.
    ...(!isHere && { AuthorizeBtnContainer: nothing, authorizeOperationBtn: nothing }),
  },
};

globalThis.SwaggerUIBundle({
  domNode: byId('reference'),
  url: `openapi/${api}.json`,
  plugins: [samples, introduction, discretion],
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  queryConfigEnabled: false,
  requestSnippetsEnabled: false,
  supportedSubmitMethods: isHere ? ['get', 'post', 'put', 'patch', 'delete'] : [],
  syntaxHighlight: { activated: false },
  validatorUrl: null,
});
