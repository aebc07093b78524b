package realworld

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Pod is the Kubernetes pod that this process runs in. Its deletion fields say when the
// kubelet will send SIGKILL, also when somebody deletes it with another grace than the
// manifest's: an eviction, a node that shuts down, kubectl delete --grace-period. Its service
// account needs the verb "get" on "pods".
type Pod struct {
	Name     string // the host name
	Server   string // https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT
	Accounts string // /var/run/secrets/kubernetes.io/serviceaccount: token, ca.crt, namespace
}

// podReply is how long the API server may take. The drain goes on meanwhile.
const podReply = 5 * time.Second

// ErrNotDeleted reports that nobody has deleted the pod: the stop has another reason, such as
// a failed liveness probe, and the manifest's grace counts.
var ErrNotDeleted = errors.New("realworld: the pod is not being deleted")

// KillAt asks the API server when this pod ends. It is meant for [Stops.Learn]: the stop
// waits for nobody, and the answer moves SIGKILL.
func (p Pod) KillAt(ctx context.Context) (time.Time, error) {
	p, err := p.withDefaults()
	if err != nil {
		return time.Time{}, err
	}
	client, err := p.client()
	if err != nil {
		return time.Time{}, err
	}
	namespace, err := p.read("namespace")
	if err != nil {
		return time.Time{}, err
	}
	token, err := p.read("token")
	if err != nil {
		return time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, podReply)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Server+"/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods/"+url.PathEscape(p.Name), nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("realworld: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		return time.Time{}, fmt.Errorf("realworld: ask when pod %s ends: %w", p.Name, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return killAtOfPod(resp)
	case http.StatusForbidden, http.StatusUnauthorized:
		return time.Time{}, fmt.Errorf("realworld: the API server answers %s; give the pod's service account the verb get on pods", resp.Status)
	default:
		return time.Time{}, fmt.Errorf("realworld: the API server answers %s when asked for pod %s", resp.Status, p.Name)
	}
}

// killAtOfPod counts from the server's clock, so that this host's need not agree with it. Both
// of its times are whole seconds, hence one less.
func killAtOfPod(resp *http.Response) (time.Time, error) {
	received := time.Now()
	var pod struct {
		Metadata struct {
			DeletionTimestamp *time.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&pod); err != nil {
		return time.Time{}, fmt.Errorf("realworld: the API server's answer is no pod: %w", err)
	}
	if pod.Metadata.DeletionTimestamp == nil {
		return time.Time{}, ErrNotDeleted
	}
	served, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("realworld: the API server does not say what time it is: %w", err)
	}
	left := pod.Metadata.DeletionTimestamp.Sub(served) - time.Second
	return received.Add(max(left, 0)), nil
}

func (p Pod) withDefaults() (Pod, error) {
	if p.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return p, fmt.Errorf("realworld: the pod's name is not known: %w", err)
		}
		p.Name = host
	}
	if p.Server == "" {
		host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
		if host == "" || port == "" {
			return p, errors.New("realworld: this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
		}
		p.Server = "https://" + net.JoinHostPort(host, port)
	}
	if p.Accounts == "" {
		p.Accounts = "/var/run/secrets/kubernetes.io/serviceaccount"
	}
	return p, nil
}

func (p Pod) client() (*http.Client, error) {
	ca, err := p.read("ca.crt")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ca)) {
		return nil, fmt.Errorf("realworld: %s holds no certificate", filepath.Join(p.Accounts, "ca.crt"))
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}, nil
}

func (p Pod) read(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(p.Accounts, name))
	if err != nil {
		return "", fmt.Errorf("realworld: the pod's service account: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
